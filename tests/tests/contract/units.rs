//! Units: an event consumes the read and write units of its row.

use crate::stage::Stage;
use table::Units;

pub(crate) async fn check(stage: &mut Stage) {
    for row in stage.rows.clone() {
        if !stage.plays(&row.event) {
            continue;
        }
        let invoked = stage.invoke(&row, stage.event(&row)).await;
        if let Err(error) = &invoked.answer {
            stage.fault(&row.event, "success", format!("{error:?}"));
        }
        let sum = |of: fn(&table::Call) -> Units| {
            invoked.usage.calls.iter().map(of).fold(Units::ZERO, |sum, units| sum + units)
        };
        let got = format!("{}/{}", sum(|call| call.read), sum(|call| call.write));
        stage.same(&row.event, &row.units, &got);
        stage.restore();
    }
}
