//! A write of one item without a client token: an attempt that arrives after the next write changes
//! nothing ([decision](../../../../docs/decisions/consistency.md)).

use function::Function;
use serde_json::{Value, json};
use std::time::Duration;
use system_tests::{
    Client,
    faults::{Call, Fault, Process},
    send, text,
    wellness::{admin, create, event_at, of_company, references::by_hand},
};
use wellness::patterns::{move_activity, put_reference, put_section, update_template};

const COMPANY: &str = "123";

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

/// A write of one function: the name of its event, its path parameters, its route, the bodies of
/// two requests, and the route that shows the item.
struct Write {
    name: &'static str,
    function: Function,
    parameters: Value,
    route: (&'static str, String),
    bodies: [Value; 2],
    shown: String,
}

fn writes(activity: &str, template: &str) -> [Write; 4] {
    let section = |name: &str| json!({"name": name, "startDate": "2030-01-01", "endDate": "2030-12-31"});
    let record = |name: &str| json!({"name": name, "data": {"by": name}});
    [
        Write {
            name: "put-section",
            function: (put_section::PATTERN.function)(),
            parameters: json!({"sectionId": "7"}),
            route: ("PUT", "sections/7".to_owned()),
            bodies: [section("A"), section("B")],
            shown: "sections/7".to_owned(),
        },
        Write {
            name: "put-reference",
            function: (put_reference::PATTERN.function)(),
            parameters: json!({"facet": "venues", "facetId": "456"}),
            route: ("PUT", "references/venues/456".to_owned()),
            bodies: [record("A"), record("B")],
            shown: "references/venues/456".to_owned(),
        },
        Write {
            name: "update-template",
            function: (update_template::PATTERN.function)(),
            parameters: json!({"templateId": template}),
            route: ("PATCH", format!("templates/{template}")),
            bodies: [json!({"name": "A"}), json!({"name": "B"})],
            shown: format!("templates/{template}"),
        },
        Write {
            name: "move-activity",
            function: (move_activity::PATTERN.function)(),
            parameters: json!({"activityId": activity}),
            route: ("PUT", format!("activities/{activity}/section")),
            bodies: [json!({"sectionId": "7"}), json!({"sectionId": null})],
            shown: format!("activities/{activity}"),
        },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_attempt_of_a_write_of_one_item_changes_nothing() {
    let (stack, proxy) = by_hand().await;
    let (client, operator) = (admin(&stack, COMPANY), Client::operator(&stack));
    let activity = create(&client, COMPANY, &event_at("Run", "2030-06-30", &[])).await;
    let template = client.post(&of("templates"), &json!({"name": "N", "type": "event", "subType": "F"})).await.body;
    for write in writes(text(&activity, "activityId"), text(&template, "templateId")) {
        let (method, path) = (write.route.0, of(&write.route.1));
        let ask = async |body: &Value| send(operator.request(method, &path).json(body)).await;
        // The function replaces an item that exists.
        let first = ask(&write.bodies[1]).await;
        assert!(matches!(first.status, 200 | 201), "{}: {}", write.name, first.body);
        let mut late = system_tests::events::event(write.name, "");
        late["pathParameters"] = write.parameters.clone();
        late["pathParameters"]["companyId"] = COMPANY.into();
        late["requestContext"]["authorizer"]["jwt"]["claims"]["company_id"] = COMPANY.into();
        late["body"] = write.bodies[0].to_string().into();
        let mut writes = 0;
        proxy.rule(move |call: &Call| {
            let is_write = matches!(call.action.as_str(), "PutItem" | "UpdateItem" | "TransactWriteItems");
            writes += usize::from(is_write);
            if is_write && writes == 1 { Fault::Held } else { Fault::None }
        });
        let process = Process::start(&stack, &proxy, write.name, &write.function);
        // The function gives up at its deadline, and its caller repeats the request.
        let invocation = process.run(&late, Duration::from_secs(2)).await.expect("alive");
        assert_eq!(invocation.answer.expect("an answer")["statusCode"], 503, "{}", write.name);
        for body in &write.bodies {
            assert_eq!(ask(body).await.status, 200, "{}", write.name);
        }
        let before = client.get(&of(&write.shown)).await.body;
        proxy.arrive().await;
        assert_eq!(client.get(&of(&write.shown)).await.body, before, "{}", write.name);
        proxy.heal();
    }
    stack.stop().await;
}
