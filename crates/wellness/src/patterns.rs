//! The access patterns, one module per pattern.
//!
//! `make docs` writes this file from the names of the modules.

#![allow(missing_docs, reason = "PATTERN declares the access pattern of its module")]

pub mod add_reference;
pub mod continue_job;
pub mod correct_points;
pub mod create_activity;
pub mod create_employee_import;
pub mod create_file;
pub mod create_template;
pub mod get_activity;
pub mod get_employee;
pub mod get_employee_import;
pub mod get_erasure;
pub mod get_export;
pub mod get_job;
pub mod get_plan;
pub mod get_points;
pub mod get_reference;
pub mod get_report;
pub mod get_section;
pub mod get_template;
pub mod join_activity;
pub mod leave_activity;
pub mod list_activities;
pub mod list_activity_options;
pub mod list_employees;
pub mod list_participants;
pub mod list_plans;
pub mod list_references;
pub mod list_references_of_facet;
pub mod list_registrations;
pub mod list_sections;
pub mod list_templates;
pub mod load_templates;
pub mod move_activity;
pub mod publish_wellness_events;
pub mod put_employee;
pub mod put_plan;
pub mod put_reference;
pub mod put_section;
pub mod receive_file;
pub mod record_attendance;
pub mod record_progress;
pub mod register_new_employee;
pub mod remove_employee;
pub mod remove_part;
pub mod remove_reference;
pub mod remove_reference_record;
pub mod remove_template;
pub mod replace_reference;
pub mod retry_job;
pub mod start_erasure;
pub mod start_export;
pub mod start_group_progress;
pub mod start_report;
pub mod update_activity;
pub mod update_part;
pub mod update_reference;
pub mod update_template;

use crate::Pattern;

/// Every access pattern of the domain, by number.
pub fn patterns() -> Vec<Pattern> {
    function::by_number(vec![
        add_reference::PATTERN,
        continue_job::PATTERN,
        correct_points::PATTERN,
        create_activity::PATTERN,
        create_employee_import::PATTERN,
        create_file::PATTERN,
        create_template::PATTERN,
        get_activity::PATTERN,
        get_employee::PATTERN,
        get_employee_import::PATTERN,
        get_erasure::PATTERN,
        get_export::PATTERN,
        get_job::PATTERN,
        get_plan::PATTERN,
        get_points::PATTERN,
        get_reference::PATTERN,
        get_report::PATTERN,
        get_section::PATTERN,
        get_template::PATTERN,
        join_activity::PATTERN,
        leave_activity::PATTERN,
        list_activities::PATTERN,
        list_activity_options::PATTERN,
        list_employees::PATTERN,
        list_participants::PATTERN,
        list_plans::PATTERN,
        list_references::PATTERN,
        list_references_of_facet::PATTERN,
        list_registrations::PATTERN,
        list_sections::PATTERN,
        list_templates::PATTERN,
        load_templates::PATTERN,
        move_activity::PATTERN,
        publish_wellness_events::PATTERN,
        put_employee::PATTERN,
        put_plan::PATTERN,
        put_reference::PATTERN,
        put_section::PATTERN,
        receive_file::PATTERN,
        record_attendance::PATTERN,
        record_progress::PATTERN,
        register_new_employee::PATTERN,
        remove_employee::PATTERN,
        remove_part::PATTERN,
        remove_reference::PATTERN,
        remove_reference_record::PATTERN,
        remove_template::PATTERN,
        replace_reference::PATTERN,
        retry_job::PATTERN,
        start_erasure::PATTERN,
        start_export::PATTERN,
        start_group_progress::PATTERN,
        start_report::PATTERN,
        update_activity::PATTERN,
        update_part::PATTERN,
        update_reference::PATTERN,
        update_template::PATTERN,
    ])
}
