//! Tests of W31: uploads and downloads by presigned URLs, and the check of an uploaded file.

use futures::future::join;
use jiff::Timestamp;
use local::Stack;
use serde_json::{Value, json};
use std::time::Duration;
use system_tests::{
    Asks, Client, assert_problem,
    faults::{Fault, MOMENTS, Process},
    send, text, until,
    wellness::{
        admin, create, employee, event_at,
        files::{download, file_of, upload_file},
        of_company,
        references::{by_hand, step_of},
        stack, stored,
    },
};

const COMPANY: &str = "C/1";
const PDF: &[u8] = b"%PDF-1.7\ncontent\n";
const ENOUGH: Duration = Duration::from_secs(30);

fn of(rest: &str) -> String {
    of_company("C%2F1", rest)
}

/// Creates a file. Returns its id and the upload.
async fn new_file(client: &Client, name: &str, content_type: &str, content: &[u8]) -> (String, Value) {
    let made = client.post(&of("files"), &file_of(name, content_type, content)).await;
    assert_eq!((made.status, &made.body["status"]), (201, &json!("pending")), "{}", made.body);
    let id = text(&made.body, "fileId").to_owned();
    assert_eq!(made.headers["location"], of(&format!("references/files/{id}")).as_str());
    (id, made.body["upload"].clone())
}

async fn get(client: &Client, id: &str) -> Value {
    let answer = client.get(&of(&format!("references/files/{id}"))).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

/// Waits until the file has been checked.
async fn checked(client: &Client, id: &str) -> Value {
    until(client, &of(&format!("references/files/{id}")), |answer| answer.body["status"] != "pending").await.body
}

async fn uploads(stack: &Stack) -> usize {
    let items = stored(stack, None, &format!("CompanyId-{COMPANY}")).await;
    items.iter().filter(|item| item["SK"].as_s().is_ok_and(|sort| sort.starts_with("Upload#"))).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_uploaded_file_becomes_ready_and_can_be_downloaded() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let (id, upload) = new_file(&admin, "Größe, \"1\".pdf", "application/pdf", PDF).await;
    assert_eq!((&upload["method"], &upload["headers"]["content-type"]), (&json!("PUT"), &json!("application/pdf")));
    let pending = get(&admin, &id).await;
    assert_eq!((&pending["status"], &pending["downloadUrl"]), (&json!("pending"), &Value::Null));
    assert_eq!(admin.get(&of("references/files")).await.body["items"], json!([]), "only ready files are listed");
    assert_eq!(upload_file(&upload, PDF).await, 200);
    let ready = checked(&admin, &id).await;
    assert_eq!(
        (&ready["status"], &ready["name"], &ready["data"]["bytes"]),
        (&json!("ready"), &json!("Größe, \"1\".pdf"), &json!(PDF.len()),)
    );
    let reader = employee(&stack, COMPANY, "u");
    let url = get(&reader, &id).await["downloadUrl"].as_str().expect("a URL").to_owned();
    let (status, name, content) = download(&url).await;
    assert_eq!((status, content.as_slice()), (200, PDF));
    assert_eq!(name, "attachment; filename*=UTF-8''Gr%C3%B6%C3%9Fe%2C%20%221%22.pdf");
    assert_eq!(admin.get(&of("references/files")).await.body["items"][0]["id"], id);
    let activity = create(&admin, "C%2F1", &event_at("Walk", "2099-12-31", &[])).await;
    let reference = of(&format!("activities/{}/references/files/{id}", text(&activity, "activityId")));
    assert_eq!(admin.put(&reference, &json!({})).await.body["data"]["sha256"], ready["data"]["sha256"]);
    assert_eq!(upload_file(&upload, PDF).await, 200, "the same content can be sent again");
    assert_eq!(checked(&admin, &id).await["status"], "ready");
}

/// A presigned URL is valid only for the signed object, type, size and checksum.
#[tokio::test(flavor = "multi_thread")]
async fn a_presigned_url_allows_nothing_else() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let (id, upload) = new_file(&admin, "Guide", "application/pdf", PDF).await;
    let mut same_size = PDF.to_vec();
    same_size[12] = b'x';
    assert_eq!(upload_file(&upload, &same_size).await, 400, "another checksum");
    let mut shorter = upload.clone();
    shorter["headers"]["content-length"] = json!((PDF.len() - 1).to_string());
    assert_eq!(upload_file(&shorter, &PDF[1..]).await, 403, "another size");
    let url = upload["url"].as_str().expect("a URL");
    let checksum = "x-amz-checksum-sha256";
    let changes: [(&str, Value); 6] = [
        ("/headers/content-type", json!("text/html")),
        (&format!("/headers/{checksum}"), json!("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")),
        ("/url", json!(url.replace("X-Amz-Expires=900", "X-Amz-Expires=9000"))),
        ("/url", json!(url.replace("C%252F1", "C%252F2"))),
        ("/url", json!(url.replace(&id, "0123"))),
        ("/url", json!(url.replace("create-file", "get-reference"))),
    ];
    for (pointer, value) in changes {
        let mut forged = upload.clone();
        let member = forged.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} of {upload}"));
        assert_ne!(*member, value, "{pointer}");
        *member = value;
        assert_eq!(upload_file(&forged, PDF).await, 403, "{forged}");
    }
    let (status, ..) = download(url).await;
    assert_eq!(status, 403, "an upload is no download");
    assert_eq!(get(&admin, &id).await["status"], "pending");
    assert_eq!(upload_file(&upload, PDF).await, 200);
    let url = checked(&admin, &id).await["downloadUrl"].as_str().expect("a URL").to_owned();
    assert_eq!(download(&url).await.0, 200);
    assert_eq!(download(&url.replace(&id, "0123")).await.0, 403);
    assert_eq!(download(&format!("{url}&versionId=1")).await.0, 403);
    let others = system_tests::wellness::admin(&stack, "C/2");
    assert_problem(&others.get(&of_company("C%2F2", &format!("references/files/{id}"))).await, 404, "not-found");
    assert_problem(&others.get(&of(&format!("references/files/{id}"))).await, 403, "forbidden");
}

#[tokio::test(flavor = "multi_thread")]
async fn content_of_another_type_is_rejected_and_deleted() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    for (content_type, content) in [("application/pdf", &b"<html>"[..]), ("text/csv", b"a,b\0"), ("image/png", PDF)] {
        let (id, upload) = new_file(&admin, "Guide", content_type, content).await;
        assert_eq!(upload_file(&upload, content).await, 200);
        let rejected = checked(&admin, &id).await;
        assert_eq!(rejected["status"], "rejected", "{rejected}");
        assert!(rejected["reason"].is_string() && rejected["downloadUrl"].is_null(), "{rejected}");
        let file = of(&format!("activities/unknown/references/files/{id}"));
        assert_problem(&admin.put(&file, &json!({})).await, 404, "not-found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_file_leaves_no_object() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let (id, upload) = new_file(&admin, "Guide", "application/pdf", PDF).await;
    assert_eq!(upload_file(&upload, PDF).await, 200);
    let url = checked(&admin, &id).await["downloadUrl"].as_str().expect("a URL").to_owned();
    let record = of(&format!("references/files/{id}"));
    assert_eq!(send(admin.request("DELETE", &record)).await.status, 204);
    assert_problem(&admin.get(&record).await, 404, "not-found");
    let job = of(&format!("jobs/UploadId-{id}"));
    until(&admin, &job, |answer| answer.body["status"] == "done").await;
    assert_eq!((download(&url).await.0, uploads(&stack).await), (404, 0));
    // The presigned upload is still valid. The new object is deleted as well.
    assert_eq!(upload_file(&upload, PDF).await, 200);
    for _ in 0..1_200 {
        if download(&url).await.0 == 404 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    unreachable!("the object stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_signs_the_upload_of_the_same_file() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let body = file_of("Guide", "application/pdf", PDF);
    let first = admin.post_once(&of("files"), "key", &body).await;
    let again = admin.post_once(&of("files"), "key", &body).await;
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(first.body["fileId"], again.body["fileId"]);
    let other = file_of("Guide", "application/pdf", b"%PDF-2");
    assert_problem(&admin.post_once(&of("files"), "key", &other).await, 422, "idempotency-key-reused");
    assert_eq!((upload_file(&again.body["upload"], PDF).await, uploads(&stack).await), (200, 1));
    let id = text(&first.body, "fileId");
    assert_eq!(checked(&admin, id).await["status"], "ready");
    assert_eq!(admin.post_once(&of("files"), "key", &body).await.body["status"], "ready");
    // A file that is gone, as after its expiry, is created again.
    assert_eq!(send(admin.request("DELETE", &of(&format!("references/files/{id}")))).await.status, 204);
    until(&admin, &of(&format!("jobs/UploadId-{id}")), |answer| answer.body["status"] == "done").await;
    let last = admin.post_once(&of("files"), "key", &body).await;
    assert_eq!((&last.body["fileId"], &last.body["status"]), (&json!(id), &json!("pending")), "{}", last.body);
}

/// The check of a file completes between the two reads of a request.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_found_while_its_check_completes() {
    let (stack, proxy) = by_hand().await;
    let admin = admin(&stack, COMPANY);
    let (id, upload) = new_file(&admin, "Guide", "application/pdf", PDF).await;
    assert_eq!(upload_file(&upload, PDF).await, 200, "{upload}");
    until(&admin, &of(&format!("jobs/UploadId-{id}")), |answer| answer.status == 200).await;
    let path = of(&format!("references/files/{id}"));
    let route = "GET /wellness/companies/{companyId}/references/{facet}/{facetId}";
    let parameters = json!({"companyId": COMPANY, "facet": "files", "facetId": id});
    let event = Asks { route, path: &path, parameters, key: None, body: None }.at(Timestamp::now());
    let process = Process::start(&stack, &proxy, "get-reference", &wellness::patterns::get_reference::function());
    proxy.rule(|call| if call.number == 2 { Fault::Held } else { Fault::None });
    let check = async {
        proxy.held(1).await;
        admin.invoke("continue-job", &step_of(COMPANY, &format!("UploadId-{id}"))).await;
        assert_eq!(get(&admin, &id).await["status"], "ready");
        proxy.release();
    };
    let (read, ()) = join(process.run(&event, ENOUGH), check).await;
    let answer = read.expect("no crash").answer.expect("an answer");
    assert_eq!(answer["statusCode"], 200, "{answer}");
}

/// Kills the check of a file at each of its calls of DynamoDB. The next run completes it.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_killed_at_any_call_completes_later() {
    let (stack, proxy) = by_hand().await;
    let admin = admin(&stack, COMPANY);
    let process = Process::start(&stack, &proxy, "continue-job", &wellness::patterns::continue_job::function());
    'calls: for call in 1.. {
        for moment in MOMENTS {
            let (id, upload) = new_file(&admin, "Guide", "application/pdf", PDF).await;
            assert_eq!(upload_file(&upload, PDF).await, 200, "{upload}");
            // The event of the object puts the job.
            let job = of(&format!("jobs/UploadId-{id}"));
            until(&admin, &job, |answer| answer.status == 200).await;
            let step = step_of(COMPANY, &format!("UploadId-{id}"));
            proxy.rule(move |it| if it.number == call { Fault::Death(moment) } else { Fault::None });
            let died = process.run(&step, ENOUGH).await.is_none();
            proxy.heal();
            assert!(process.run(&step, ENOUGH).await.is_some());
            assert_eq!(get(&admin, &id).await["status"], "ready", "{call} {moment:?}");
            if !died {
                assert!(call > 4, "{call}");
                break 'calls;
            }
        }
    }
}
