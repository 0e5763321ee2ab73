//! A write of one item without a client token: an attempt that arrives after the next write changes
//! nothing, and neither does the repetition of a write whose response was lost
//! ([decision](../../../../docs/decisions/consistency.md)).

use function::Function;
use serde_json::{Value, json};
use std::time::Duration;
use system_tests::{
    Client,
    faults::{Call, Fault, Moment, Process},
    send, text,
    wellness::{admin, create, event_at, of_company, references::by_hand},
};
use wellness::patterns::{move_activity, put_plan, put_reference, put_section, remove_employee, update_template};

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

fn writes(activity: &str, template: &str) -> [Write; 5] {
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
            name: "put-plan",
            function: (put_plan::PATTERN.function)(),
            parameters: json!({"planId": "2030"}),
            route: ("PUT", "plans/2030".to_owned()),
            bodies: [section("A"), section("B")],
            shown: "plans/2030".to_owned(),
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

/// The position of a call among the writes of a function. `None` for a read.
fn numbered() -> impl FnMut(&Call) -> Option<usize> {
    let mut writes = 0;
    move |call| {
        let is_write = matches!(call.action.as_str(), "PutItem" | "UpdateItem" | "TransactWriteItems");
        writes += usize::from(is_write);
        is_write.then_some(writes)
    }
}

/// The event of a function, for the company of the tests.
fn event(name: &str, parameters: &Value) -> Value {
    let mut event = system_tests::events::event(name, "");
    event["pathParameters"] = parameters.clone();
    event["pathParameters"]["companyId"] = COMPANY.into();
    event["requestContext"]["authorizer"]["jwt"]["claims"]["company_id"] = COMPANY.into();
    event
}

impl Write {
    /// The event of the first request.
    fn event(&self) -> Value {
        let mut event = event(self.name, &self.parameters);
        event["body"] = self.bodies[0].to_string().into();
        event
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_attempt_of_a_write_of_one_item_changes_what_was_written_after_it() {
    let (stack, proxy) = by_hand().await;
    let (client, operator) = (admin(&stack, COMPANY), Client::operator(&stack));
    let activity = create(&client, COMPANY, &event_at("Run", "2030-06-30", &[])).await;
    let template = client.post(&of("templates"), &json!({"name": "N", "type": "event", "subType": "F"})).await.body;
    for write in writes(text(&activity, "activityId"), text(&template, "templateId")) {
        let (method, path, name) = (write.route.0, of(&write.route.1), write.name);
        let ask = async |body: &Value| send(operator.request(method, &path).json(body)).await;
        let shown = async || client.get(&of(&write.shown)).await.body;
        let [first, next] = &write.bodies;
        // The function replaces an item that exists.
        let made = ask(next).await;
        assert!(matches!(made.status, 200 | 201), "{name}: {}", made.body);
        let process = Process::start(&stack, &proxy, name, &write.function);

        // The first attempt arrives late. The function gives up, and its caller repeats the
        // request.
        let mut number = numbered();
        proxy.rule(move |call| if number(call) == Some(1) { Fault::Held } else { Fault::None });
        let gave_up = process.run(&write.event(), Duration::from_secs(2)).await.expect("alive");
        assert_eq!(gave_up.answer.expect("an answer")["statusCode"], 503, "{name}");
        for body in [first, next] {
            assert_eq!(ask(body).await.status, 200, "{name}");
        }
        let before = shown().await;
        proxy.arrive().await;
        assert_eq!(shown().await, before, "{name}: the first attempt arrives late");

        // The response to the first attempt is lost, and the second one arrives after the next
        // write.
        let mut number = numbered();
        proxy.rule(move |call| match number(call) {
            Some(1) => Fault::Lost(Moment::After),
            Some(2) => Fault::Held,
            _ => Fault::None,
        });
        let event = write.event();
        let follows = async {
            proxy.held(1).await;
            assert_ne!(shown().await, before, "{name}: the first attempt was executed");
            assert_eq!(ask(next).await.status, 200, "{name}");
            proxy.release();
        };
        let (repeated, ()) = tokio::join!(process.run(&event, Duration::from_secs(30)), follows);
        assert_eq!(repeated.expect("alive").answer.expect("an answer")["statusCode"], 503, "{name}");
        let mut after = shown().await;
        // Each change of a template has another version.
        if before["version"].is_number() {
            after["version"] = before["version"].clone();
        }
        assert_eq!(after, before, "{name}: the response was lost");
        proxy.heal();
    }
    stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_deletion_keeps_an_employee_who_was_added_again() {
    let (stack, proxy) = by_hand().await;
    let (client, path) = (admin(&stack, COMPANY), of("employees/user-1"));
    let add = async || client.put(&path, &json!({"role": "EmployeeOnPlan", "department": "Sales"})).await.status;
    assert_eq!(add().await, 201);
    let process = Process::start(&stack, &proxy, "remove-employee", &(remove_employee::PATTERN.function)());

    let mut number = numbered();
    proxy.rule(move |call| if number(call) == Some(1) { Fault::Held } else { Fault::None });
    let event = event("remove-employee", &json!({"userId": "user-1"}));
    let gave_up = process.run(&event, Duration::from_secs(2)).await.expect("alive");
    assert_eq!(gave_up.answer.expect("an answer")["statusCode"], 503);
    assert_eq!(send(client.request("DELETE", &path)).await.status, 202);
    assert_eq!(add().await, 201);

    proxy.arrive().await;
    assert_eq!(client.get(&path).await.status, 200, "the deletion arrives late");
    stack.stop().await;
}
