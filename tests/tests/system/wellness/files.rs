//! Uploads and downloads by presigned URLs, and the check of an uploaded file (W31):
//! docs/requirements/wellness.md#files.

use local::Stack;
use serde_json::{Value, json};
use std::time::Duration;
use system_tests::{
    Client, assert_problem, send, text, until,
    wellness::{
        admin, create, employee, event_at,
        files::{download, file_of, upload_file},
        of_company, stack, stored,
    },
};

const COMPANY: &str = "C/1";
const PDF: &[u8] = b"%PDF-1.7\ncontent\n";

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

/// Uploads the content, and waits until the file has been checked.
async fn checked(client: &Client, id: &str, upload: &Value, content: &[u8]) -> Value {
    assert_eq!(upload_file(upload, content).await, 200);
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
    assert_eq!(get(&admin, &id).await["downloadUrl"], Value::Null);
    assert_eq!(admin.get(&of("references/files")).await.body["items"], json!([]), "only ready files are listed");
    let ready = checked(&admin, &id, &upload, PDF).await;
    let shown = (&ready["status"], &ready["name"], &ready["data"]["bytes"]);
    assert_eq!(shown, (&json!("ready"), &json!("Größe, \"1\".pdf"), &json!(PDF.len())));
    let reader = employee(&stack, COMPANY, "u");
    let (status, name, content) = download(text(&get(&reader, &id).await, "downloadUrl")).await;
    assert_eq!((status, content.as_slice()), (200, PDF));
    assert_eq!(name, "attachment; filename*=UTF-8''Gr%C3%B6%C3%9Fe%2C%20%221%22.pdf");
    assert_eq!(admin.get(&of("references/files")).await.body["items"][0]["id"], id);
    let activity = create(&admin, "C%2F1", &event_at("Walk", "2099-12-31", &[])).await;
    let reference = of(&format!("activities/{}/references/files/{id}", text(&activity, "activityId")));
    assert_eq!(admin.put(&reference, &json!({})).await.body["data"]["sha256"], ready["data"]["sha256"]);
    let again = checked(&admin, &id, &upload, PDF).await;
    assert_eq!(again["status"], "ready", "the same content can be sent again");
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
    let url = text(&upload, "url");
    for (pointer, value) in [
        ("/headers/content-type", json!("text/html")),
        ("/headers/x-amz-checksum-sha256", json!("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")),
        ("/url", json!(url.replace("X-Amz-Expires=900", "X-Amz-Expires=9000"))),
        ("/url", json!(url.replace("C%252F1", "C%252F2"))),
        ("/url", json!(url.replace(&id, "0123"))),
        ("/url", json!(url.replace("create-file", "get-reference"))),
    ] {
        let mut forged = upload.clone();
        let member = forged.pointer_mut(pointer).expect("a member of the upload");
        assert_ne!(*member, value, "{pointer}");
        *member = value;
        assert_eq!(upload_file(&forged, PDF).await, 403, "{forged}");
    }
    assert_eq!(download(url).await.0, 403, "an upload is no download");
    assert_eq!(get(&admin, &id).await["status"], "pending");
    let ready = checked(&admin, &id, &upload, PDF).await;
    let url = text(&ready, "downloadUrl");
    assert_eq!(download(url).await.0, 200);
    assert_eq!(download(&url.replace(&id, "0123")).await.0, 403);
    assert_eq!(download(&format!("{url}&versionId=1")).await.0, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn content_of_another_type_is_rejected() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    for (content_type, content) in [("application/pdf", &b"<html>"[..]), ("text/csv", b"a,b\0"), ("image/png", PDF)] {
        let (id, upload) = new_file(&admin, "Guide", content_type, content).await;
        let rejected = checked(&admin, &id, &upload, content).await;
        assert_eq!(rejected["status"], "rejected", "{rejected}");
        assert!(rejected["reason"].is_string() && rejected["downloadUrl"].is_null(), "{rejected}");
    }
    assert_eq!(admin.get(&of("references/files")).await.body["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_file_leaves_no_object_and_can_be_created_again() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let body = file_of("Guide", "application/pdf", PDF);
    let created = async || admin.post_once(&of("files"), "key", &body).await.body;
    let first = created().await;
    let id = text(&first, "fileId");
    let again = created().await;
    assert_eq!((&again["fileId"], uploads(&stack).await), (&first["fileId"], 1));
    let ready = checked(&admin, id, &again["upload"], PDF).await;
    let url = text(&ready, "downloadUrl");
    assert_eq!((&created().await["status"], download(url).await.0), (&json!("ready"), 200));
    let record = of(&format!("references/files/{id}"));
    assert_eq!(send(admin.request("DELETE", &record)).await.status, 204);
    assert_problem(&admin.get(&record).await, 404, "not-found");
    until(&admin, &of(&format!("jobs/UploadId-{id}")), |answer| answer.body["status"] == "done").await;
    assert_eq!((download(url).await.0, uploads(&stack).await), (404, 0));
    // The presigned upload is still valid. The new object is deleted as well.
    assert_eq!(upload_file(&first["upload"], PDF).await, 200);
    for _ in 0..1_200 {
        if download(url).await.0 == 404 {
            let last = created().await;
            assert_eq!((&last["fileId"], &last["status"]), (&first["fileId"], &json!("pending")), "{last}");
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    unreachable!("the object stays");
}
