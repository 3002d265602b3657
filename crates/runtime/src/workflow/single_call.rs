//! A model that calls one tool and then ends. A step that is a single call is a
//! turn with this model, so that the call passes the gate, is stored before it
//! happens, can wait for people and is paid like any other. There is no other
//! way to a tool.

use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use ostler_domain::money::Usd;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::history::Item;
use ostler_engine::model::{Chunk, Model, ModelError, Request, StopReason};
use ostler_engine::turn::Models;
use serde_json::Value;

/// Provides a model that calls one tool.
pub(crate) struct SingleCallModels(Arc<SingleCallModel>);

struct SingleCallModel {
    tool: String,
    arguments: String,
}

impl SingleCallModels {
    pub(crate) fn new(tool: &str, arguments: &Value) -> Self {
        Self(Arc::new(SingleCallModel { tool: tool.to_owned(), arguments: arguments.to_string() }))
    }
}

impl Models for SingleCallModels {
    fn model(&self, _: Option<&str>) -> Option<Arc<dyn Model>> {
        Some(self.0.clone())
    }
}

impl Model for SingleCallModel {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let called = matches!(request.history.last(), Some(Item::Results { .. }));
        let pieces = if called {
            vec![Chunk::Text("Done.".to_owned()), Chunk::Done(StopReason::End)]
        } else {
            let (id, name) = ("call".to_owned(), self.tool.clone());
            vec![
                Chunk::Call { index: 0, id, name },
                Chunk::Arguments { index: 0, json: self.arguments.clone() },
                Chunk::Done(StopReason::ToolCalls),
            ]
        };
        stream::iter(pieces.into_iter().map(Ok)).boxed()
    }

    fn price(&self) -> ModelPrice {
        ModelPrice::new(Usd::from_micros(0), Usd::from_micros(0))
    }
}
