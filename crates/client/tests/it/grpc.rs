//! The same over gRPC.

use crate::{
    agent::GRPC_WAYS,
    operations::{
        a_message_gets_its_answer, a_question_is_answered_in_the_same_task, a_stream_shows_every_event_once_and_in_order,
        a_task_is_read_listed_watched_and_canceled, errors_are_of_the_right_kind, push_configs_are_written_read_listed_and_removed,
    },
};

#[tokio::test]
async fn a_message_gets_its_answer_over_grpc() {
    a_message_gets_its_answer(&GRPC_WAYS).await;
}

#[tokio::test]
async fn a_stream_shows_every_event_once_and_in_order_over_grpc() {
    a_stream_shows_every_event_once_and_in_order(&GRPC_WAYS).await;
}

#[tokio::test]
async fn a_task_is_read_listed_watched_and_canceled_over_grpc() {
    a_task_is_read_listed_watched_and_canceled(&GRPC_WAYS).await;
}

#[tokio::test]
async fn a_question_is_answered_in_the_same_task_over_grpc() {
    a_question_is_answered_in_the_same_task(&GRPC_WAYS).await;
}

#[tokio::test]
async fn push_configs_are_written_read_listed_and_removed_over_grpc() {
    push_configs_are_written_read_listed_and_removed(&GRPC_WAYS).await;
}

#[tokio::test]
async fn errors_are_of_the_right_kind_over_grpc() {
    errors_are_of_the_right_kind(&GRPC_WAYS).await;
}
