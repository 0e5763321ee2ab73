//! The access patterns, a module each.

pub mod continue_job;
pub mod create_activity;
pub mod create_template;
pub mod get_activity;
pub mod get_job;
pub mod list_activities;
pub mod list_activity_options;
pub mod list_references;
pub mod list_registrations;
pub mod list_templates;
pub mod move_activity;
pub mod put_employee;
pub mod put_reference;
pub mod put_section;
pub mod record_progress;
pub mod register_new_employee;
pub mod replace_reference;
pub mod update_activity;
pub mod update_reference;

use crate::Pattern;
use function::Function;

/// Every function of the domain, by the name of its binary.
#[must_use]
pub fn functions() -> Vec<(&'static str, Function)> {
    vec![
        ("create-activity", create_activity::function()),
        ("list-activities", list_activities::function()),
        ("list-activity-options", list_activity_options::function()),
        ("list-registrations", list_registrations::function()),
        ("get-activity", get_activity::function()),
        ("move-activity", move_activity::function()),
        ("list-references", list_references::function()),
        ("replace-reference", replace_reference::function()),
        ("update-reference", update_reference::function()),
        ("put-employee", put_employee::function()),
        ("register-new-employee", register_new_employee::function()),
        ("record-progress", record_progress::function()),
        ("create-template", create_template::function()),
        ("list-templates", list_templates::function()),
        ("put-section", put_section::function()),
        ("put-reference", put_reference::function()),
        ("update-activity", update_activity::function()),
        ("get-job", get_job::function()),
        ("continue-job", continue_job::function()),
    ]
}

/// What every access pattern asks and costs, in the order of the design.
#[must_use]
pub fn patterns() -> Vec<Pattern> {
    vec![
        create_activity::PATTERN,
        list_activities::PATTERN,
        list_activity_options::PATTERN,
        list_registrations::PATTERN,
        get_activity::PATTERN,
        get_activity::LEVEL,
        move_activity::PATTERN,
        list_references::PATTERN,
        replace_reference::PATTERN,
        update_reference::PATTERN,
        put_employee::PATTERN,
        register_new_employee::PATTERN,
        record_progress::PATTERN,
        create_template::PATTERN,
        list_templates::PATTERN,
        put_section::PATTERN,
        put_reference::PATTERN,
        update_activity::PATTERN,
        update_activity::STATUS,
        update_activity::END,
        get_job::PATTERN,
        continue_job::PATTERN,
        continue_job::UPDATE,
        continue_job::FOLLOW,
    ]
}
