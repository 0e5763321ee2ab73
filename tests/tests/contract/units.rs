//! Units: an event consumes the read and write units of its row.

use crate::stage::Stage;
use local::in_process::clock;
use table::Units;

pub(crate) async fn check(stage: &mut Stage) {
    for row in stage.rows.clone() {
        if !stage.plays(&row.event) {
            continue;
        }
        let mut event = stage.event(&row);
        let function = row.event.split('.').next().unwrap_or_default().to_owned();
        if event["routeKey"].is_string() {
            event["requestContext"]["timeEpoch"] = clock::now().as_millisecond().into();
        }
        let invoked = stage.stack.invoke(&function, event).await;
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
