//! Tests of W35: the import of employees from a CSV file.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use system_tests::{
    Client, text, until,
    wellness::{
        admin, employee_key,
        files::{file_of, upload_file},
        of_company, stack, table,
    },
};
use wellness::Employee;

const COMPANY: &str = "C";
const IMPORTS: &str = "employee-imports";

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

fn request(content: &str, end_missing: bool) -> Value {
    let file = file_of("", "", content.as_bytes());
    json!({"bytes": file["bytes"], "sha256": file["sha256"], "endMissing": end_missing})
}

/// Waits until the import has ended.
async fn ended(client: &Client, id: &str) -> Value {
    let has_ended = |status: &Value| status == "done" || status == "failed";
    until(client, &of(&format!("{IMPORTS}/{id}")), |answer| has_ended(&answer.body["status"])).await.body
}

/// Creates an import, uploads its file and waits until it has ended.
async fn import(client: &Client, content: &str, end_missing: bool) -> Value {
    let made = client.post(&of(IMPORTS), &request(content, end_missing)).await;
    assert_eq!((made.status, &made.body["status"]), (201, &json!("pending")), "{}", made.body);
    let id = text(&made.body, "importId");
    let path = of(&format!("{IMPORTS}/{id}"));
    assert_eq!(made.headers["location"], path.as_str());
    assert_eq!(client.get(&path).await.body["status"], "pending");
    assert_eq!(upload_file(&made.body["upload"], content.as_bytes()).await, 200);
    ended(client, id).await
}

/// Returns the role, the department, the name and the attributes of each employee.
async fn employees(client: &Client) -> BTreeMap<String, String> {
    let (items, _) = client.all(&of("employees?limit=100")).await;
    let data = |one: &Value| {
        let name = one["name"].as_str().unwrap_or("-");
        let attributes = one.get("attributes").map(|attributes| format!(" {attributes}")).unwrap_or_default();
        let data = format!("{} {} {name}{attributes}", text(one, "role"), text(one, "department"));
        (text(one, "userId").to_owned(), data)
    };
    items.iter().map(data).collect()
}

fn expected<const N: usize>(employees: [(&str, &str); N]) -> BTreeMap<String, String> {
    employees.map(|(user, data)| (user.to_owned(), data.to_owned())).into()
}

fn counts(import: &Value) -> [u64; 6] {
    ["read", "added", "changed", "unchanged", "ended", "rejected"].map(|count| import[count].as_u64().expect("a count"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_adds_and_changes_employees() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    for (user, placed) in [
        ("a", json!({"role": "R", "department": "D", "name": "Ann"})),
        ("b", json!({"role": "R", "department": "D", "name": "Bob"})),
        ("z", json!({"role": "R", "department": "D"})),
    ] {
        assert_eq!(admin.put(&of(&format!("employees/{user}")), &placed).await.status, 201);
    }
    let file = "department,userId,name,role,hired\r\nD,a,Ann,R,2020\r\nLegal,b,Bob,R,2021\r\n\r\n\
                \"Sales, North\",c,'=Cleo,R,\r\nD,d,,R,\r\nD,c,Again,R,\r\n,e,Eve,R,\r\nD,#,Eve,R,\r\nD,f\r\n";
    let done = import(&admin, file, false).await;
    assert_eq!((&done["status"], counts(&done)), (&json!("done"), [8, 2, 2, 0, 0, 4]), "{done}");
    let lines = done["rejectedLines"].as_array().expect("lines").iter();
    let lines: Vec<_> = lines.map(|line| (line["line"].as_u64().expect("a line"), line["userId"].as_str())).collect();
    assert_eq!(lines, [(7, Some("c")), (8, Some("e")), (9, None), (10, None)], "{done}");
    assert_eq!(done["rejectedLines"][0]["reason"], "The user is also on line 5.");
    let right = expected([
        ("a", r#"R D Ann {"hired":"2020"}"#),
        ("b", r#"R Legal Bob {"hired":"2021"}"#),
        ("c", "R Sales, North =Cleo"),
        ("d", "R D -"),
        ("z", "R D -"),
    ]);
    assert_eq!(employees(&admin).await, right);
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_employees_are_removed_only_by_a_file_without_rejected_lines() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let header = "userId,role,department\n";
    let many: Vec<String> = (0..1_200).map(|number| format!("u-{number},R,D\n")).collect();
    let all = format!("{header}{}", many.concat());
    let done = import(&admin, &all, true).await;
    assert_eq!(counts(&done), [1_200, 1_200, 0, 0, 0, 0], "{done}");
    let wrong = import(&admin, &format!("{header}u-1,R,D\nu-2,,D\n"), true).await;
    assert_eq!((&wrong["status"], counts(&wrong)), (&json!("failed"), [2, 0, 0, 1, 0, 1]), "{wrong}");
    assert!(text(&wrong, "reason").starts_with("Nobody was removed"), "{wrong}");
    for (file, reason) in [
        (header, "The file has no employees."),
        ("userId,role,department\n\n  \n", "The file has no employees."),
        ("userId;role;department\nu-1;R;D\n", "The first line must name the columns"),
        ("PK\u{3}\u{4}abc", "The file is a ZIP archive or a workbook."),
    ] {
        let failed = import(&admin, file, true).await;
        assert_eq!((&failed["status"], counts(&failed)), (&json!("failed"), [0; 6]), "{failed}");
        assert!(text(&failed, "reason").starts_with(reason), "{failed}");
    }
    assert_eq!(employees(&admin).await.len(), 1_200);
    let kept = format!("{header}{}new,R,D\n", many[..700].concat());
    let done = import(&admin, &kept, true).await;
    assert_eq!((&done["status"], counts(&done)), (&json!("done"), [701, 1, 0, 700, 500, 0]), "{done}");
    assert_eq!(employees(&admin).await.len(), 701);
    // Another company keeps its employees.
    let others = system_tests::wellness::admin(&stack, "other");
    let placed = json!({"role": "R", "department": "D"});
    assert_eq!(others.put(&of_company("other", "employees/u-1100"), &placed).await.status, 201);
    import(&admin, &kept, true).await;
    assert_eq!(others.get(&of_company("other", "employees/u-1100")).await.status, 200);
}

/// Someone chooses a name or an attribute that contains a line about somebody else.
#[tokio::test(flavor = "multi_thread")]
async fn text_in_a_quoted_value_is_never_an_employee() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let boss = json!({"role": "CEO", "department": "Board", "name": "Ann"});
    assert_eq!(admin.put(&of("employees/boss"), &boss).await.status, 201);
    let header = "userId,role,department,name,note\n";
    let text_of_eve = "Eve\r\nboss,Intern,Mailroom,Fired,\r\nx";
    let file = format!("{header}eve,R,D,\"{text_of_eve}\",\nbob,R,D,Bob,\"{text_of_eve}\"\nc,,D,,\n");
    let done = import(&admin, &file, false).await;
    assert_eq!((&done["status"], counts(&done)), (&json!("done"), [3, 0, 0, 0, 0, 3]), "{done}");
    let lines: Vec<_> = done["rejectedLines"].as_array().expect("lines").iter().map(|row| &row["line"]).collect();
    assert_eq!(lines, [2, 5, 8]);
    // Nothing is imported of a file whose quotes are misplaced.
    let file = format!("{header}new,R,D,,\neve,R,D,,\"Eve\nboss,Intern,Mailroom,Fired,\n\n");
    let failed = import(&admin, &file, true).await;
    assert_eq!((&failed["status"], counts(&failed)), (&json!("failed"), [0; 6]), "{failed}");
    let reason = "The quoted value that starts on line 3 has no closing quote.";
    assert!(text(&failed, "reason").starts_with(reason), "{failed}");
    assert_eq!(employees(&admin).await, expected([("boss", "CEO Board Ann")]));
}

/// Blank rows, line ends and headers as programs write them. Each file has the same employee.
#[tokio::test(flavor = "multi_thread")]
async fn files_of_spreadsheets_are_read() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    for (number, file) in [
        "userId,role,department\na,R,D\n,,\n,,\n\"\", ,\"\u{a0}\"\n",
        "userId,role,department\ra,R,D\r",
        " userId ,ROLE,\u{a0}Department\r\na,R,D",
        "\u{feff}USERID,role,\"department \",Name,name-of-the-pet,,\r\na,R,D,,, ,",
    ]
    .into_iter()
    .enumerate()
    {
        let missing = json!({"role": "R", "department": "D"});
        assert_eq!(admin.put(&of(&format!("employees/gone-{number}")), &missing).await.status, 201);
        let done = import(&admin, file, true).await;
        let is_new = u64::from(number == 0);
        assert_eq!(
            (&done["status"], counts(&done)),
            (&json!("done"), [1, is_new, 0, 1 - is_new, 1, 0]),
            "{file}: {done}"
        );
        assert_eq!(employees(&admin).await, expected([("a", "R D -")]), "{file}");
    }
    let failed = import(&admin, "userId,role,department,name, NAME\na,R,D,,", true).await;
    assert!(text(&failed, "reason").ends_with("more than once."), "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_changes_only_its_columns() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let first = "userId,role,department,name\na,R,D,Ann\nb,R,D,Bob\nc,R,D,\n";
    assert_eq!(counts(&import(&admin, first, true).await), [3, 3, 0, 0, 0, 0]);
    let second = "userId,role,department\na,R,D\nb,R,Legal\nc,R,D\nd,R,D\n";
    let done = import(&admin, second, true).await;
    assert_eq!(counts(&done), [4, 1, 1, 2, 0, 0], "{done}");
    let right = expected([("a", "R D Ann"), ("b", "R Legal Bob"), ("c", "R D -"), ("d", "R D -")]);
    assert_eq!(employees(&admin).await, right);
    // An empty value of the column removes the name, as the list of employees shows it.
    let third = "userId,role,department,NAME\na,R,D,\nb,R,Legal,Rob\nc,R,D,\nd,R,D,\n";
    assert_eq!(counts(&import(&admin, third, true).await), [4, 0, 2, 2, 0, 0]);
    let right = expected([("a", "R D -"), ("b", "R Legal Rob"), ("c", "R D -"), ("d", "R D -")]);
    assert_eq!(employees(&admin).await, right);
}

/// An empty value removes an attribute. Attributes without a column stay.
#[tokio::test(flavor = "multi_thread")]
async fn further_columns_are_attributes() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let first = "userId,role,department,location,Shift\na,R,D,Berlin,night\nb,R,D,\"Köln, Süd\",\nc,R,D,,\n";
    assert_eq!(counts(&import(&admin, first, false).await), [3, 3, 0, 0, 0, 0]);
    let second = "shift,userId,role,location,department\nday,a,R,,D\n,b,R,\"Köln, Süd\",D\n,c,R,,D\n";
    let done = import(&admin, second, false).await;
    assert_eq!(counts(&done), [3, 0, 1, 2, 0, 0], "{done}");
    let right = expected([
        ("a", r#"R D - {"Shift":"night","shift":"day"}"#),
        ("b", r#"R D - {"location":"Köln, Süd"}"#),
        ("c", "R D -"),
    ]);
    assert_eq!(employees(&admin).await, right);
    let many: Vec<String> = (0..19).map(|number| format!("a{number}")).collect();
    let long = "x".repeat(101);
    let third = format!(
        "userId,role,department,{}\na,R,D,{}\nb,R,D,{}\nc,R,D,{long}{}\n",
        many.join(","),
        ["x"; 19].join(","),
        ["x"; 19].join(","),
        ",".repeat(18)
    );
    let done = import(&admin, &third, true).await;
    assert_eq!((&done["status"], counts(&done)), (&json!("failed"), [3, 0, 1, 0, 0, 2]), "{done}");
    let rejected = &done["rejectedLines"];
    assert_eq!((&rejected[0]["line"], &rejected[0]["userId"]), (&json!(2), &json!("a")), "{done}");
    assert_eq!(rejected[0]["reason"], "attributes must have at most 20 attributes");
    assert!(text(&rejected[1], "reason").starts_with("a0 must have 1 to 100 "), "{done}");
    let before = employees(&admin).await;
    for (column, reason) in [
        ("name of the pet", "The column `name of the pet` is no attribute. Its name must have 1 to 40"),
        ("Roles", "The column `Roles` is no attribute. Its name must not be type, subType,"),
        ("subType", "The column `subType` is no attribute."),
        (&"x".repeat(41), "The column `xxx"),
        ("-x,'-x", "The column `-x` occurs more than once."),
        ("x,x", "The header has the column `x` more than once."),
        ("NAME,name", "The header has the column `name` more than once."),
    ] {
        let values = ",x".repeat(column.split(',').count());
        let failed = import(&admin, &format!("userId,role,department,{column}\na,R,D{values}\n"), true).await;
        assert_eq!((&failed["status"], counts(&failed)), (&json!("failed"), [0; 6]), "{failed}");
        assert!(text(&failed, "reason").starts_with(reason), "{failed}");
        assert_eq!(employees(&admin).await, before);
    }
}

/// The list of employees as a CSV file is the same people, whatever their names look like.
#[tokio::test(flavor = "multi_thread")]
async fn the_exported_list_is_the_same_people() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let texts = ["-x", "'-x", "=1", "'=1", "'", "''", "\"", "a\"b", "a,b", "@a;", "'\u{ff1d}b", "\u{ff1d}b", "x'=1"];
    for (number, user) in texts.into_iter().enumerate() {
        let other = texts[(number + 1) % texts.len()];
        let name = format!("{}{} ", texts[(number + 2) % texts.len()], " ".repeat(number % 2));
        let attributes = match number % 3 {
            0 => json!({"-x": user, "Shift": other}),
            1 => json!({"shift": user, "a": "a,\"b\""}),
            _ => json!({}),
        };
        let placed = json!({"role": other, "department": user, "name": name, "attributes": attributes});
        let path = of(&format!("employees/{}", function::percent_encoded(user)));
        assert_eq!(admin.put(&path, &placed).await.status, 201, "{user}");
    }
    let before = employees(&admin).await;
    assert_eq!(before.len(), texts.len());
    let request = admin.request("GET", &of("employees?limit=100")).header("accept", "text/csv");
    let (_, _, exported) = request.send().await;
    let again = import(&admin, &exported, true).await;
    let count = texts.len() as u64;
    assert_eq!((&again["status"], counts(&again)), (&json!("done"), [count, 0, 0, count, 0, 0]), "{again}");
    assert_eq!(employees(&admin).await, before);
}

/// A repeated event of the object, or another upload, starts no second import.
#[tokio::test(flavor = "multi_thread")]
async fn an_import_happens_once() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let content = "userId,role,department\nu,R,D\n";
    let made = admin.post(&of(IMPORTS), &request(content, true)).await;
    let id = text(&made.body, "importId");
    assert_eq!(upload_file(&made.body["upload"], content.as_bytes()).await, 200);
    let first = ended(&admin, id).await;
    assert_eq!(counts(&first), [1, 1, 0, 0, 0, 0], "{first}");
    let placed = json!({"role": "R", "department": "D"});
    assert_eq!(admin.put(&of("employees/later"), &placed).await.status, 201);
    assert_eq!(upload_file(&made.body["upload"], content.as_bytes()).await, 200);
    let job = of(&format!("jobs/UploadId-{id}"));
    until(&admin, &job, |answer| answer.body["done"] == 0 && answer.body["status"] == "done").await;
    assert_eq!(ended(&admin, id).await, first);
    assert_eq!(employees(&admin).await.len(), 2);
}

/// An employee who cannot be read is replaced if the file contains the employee, and otherwise
/// kept.
#[tokio::test(flavor = "multi_thread")]
async fn unreadable_employees_are_repaired_or_kept() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let placed = json!({"role": "R", "department": "D", "name": "Ann", "attributes": {"shift": "day"}});
    let (dynamo, own) = table(&stack);
    for user in ["a", "b"] {
        assert_eq!(admin.put(&of(&format!("employees/{user}")), &placed).await.status, 201);
        dynamo.write(own.update(employee_key(COMPANY, user)).set(Employee::ROLE, 1)).await.expect("written");
    }
    let done = import(&admin, "userId,role,department\na,R,D\n", true).await;
    assert_eq!((&done["status"], &done["skipped"], counts(&done)), (&json!("done"), &json!(1), [1, 0, 1, 0, 0, 0]));
    assert_eq!(employees(&admin).await, expected([("a", r#"R D Ann {"shift":"day"}"#)]));
    // A name that cannot be read is lost, but the version is not.
    dynamo.write(own.update(employee_key(COMPANY, "a")).set(Employee::NAME, 1)).await.expect("written");
    let done = import(&admin, "userId,role,department\na,R,D\n", true).await;
    assert_eq!((&done["status"], &done["skipped"], counts(&done)), (&json!("done"), &json!(1), [1, 0, 1, 0, 0, 0]));
    assert_eq!(employees(&admin).await, expected([("a", r#"R D - {"shift":"day"}"#)]));
}
