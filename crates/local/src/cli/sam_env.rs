//! `local sam-env`: writes the environment variables of the functions on the local stack, in the
//! format of `sam local invoke --env-vars`.
use std::{collections::BTreeMap, fs, path::Path};

use serde_json::json;

use super::{CliError, SamEnvOptions};
use template::Template;

const ENDPOINT: &str = "AWS_ENDPOINT_URL";
/// Name of the file for the root template.
const ROOT: &str = "system";

type Variables = BTreeMap<String, String>;
/// Variables of each function, by file name and by the id that SAM uses for the function.
type Files = BTreeMap<String, BTreeMap<String, Variables>>;

/// Writes a file for the root template and a file for each stack. One file for all templates would
/// be ambiguous (docs/decisions/real-binaries.md).
pub(super) fn write(options: &SamEnvOptions) -> Result<(), CliError> {
    let template = options.stack.builder().template()?;
    let url = format!("http://{}:{}", options.host, options.dynamodb_port);
    fs::create_dir_all(&options.folder).map_err(|error| CliError::Write(options.folder.clone(), error))?;
    for (name, functions) in files(&template, &url) {
        let path = options.folder.join(format!("{name}.json"));
        let text = format!("{:#}\n", json!(functions));
        fs::write(&path, text).map_err(|error| CliError::Write(path.clone(), error))?;
        println!("{}", path.display());
    }
    Ok(())
}

pub(super) fn files(template: &Template, url: &str) -> Files {
    let mut files = Files::new();
    for lambda in &template.lambdas {
        let mut variables = lambda.environment.clone();
        if let Some(endpoint) = variables.get_mut(ENDPOINT) {
            url.clone_into(endpoint);
        }
        let stack = lambda.file.as_deref().and_then(|file| Path::new(file).file_stem()?.to_str());
        if let (Some(stack), Some((_, id))) = (stack, lambda.id.split_once('/')) {
            files.entry(stack.to_owned()).or_default().insert(id.to_owned(), variables.clone());
        }
        files.entry(ROOT.to_owned()).or_default().insert(lambda.id.clone(), variables);
    }
    files
}
