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
pub mod retry_job;
pub mod update_activity;
pub mod update_reference;

use crate::Pattern;

/// Every access pattern of the domain, in the order of the design.
#[must_use]
pub fn patterns() -> Vec<Pattern> {
    vec![
        create_activity::PATTERN,
        list_activities::PATTERN,
        list_activity_options::PATTERN,
        list_registrations::PATTERN,
        get_activity::PATTERN,
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
        get_job::PATTERN,
        retry_job::PATTERN,
        continue_job::PATTERN,
    ]
}
