//! By HTTP/3: each query on a stream of a connection of QUIC.

pub(super) mod client;
pub(super) mod server;

use crate::http::h3::connection::Connection;
use crate::quic::Carried;

/// A flow's connection.
pub(crate) enum Link {
    Client(Box<Connection<client::Asked>>, client::Asking),
    Server(Box<Connection<server::Asked>>, server::Serving),
}

impl Link {
    pub(crate) fn carried(&self) -> &Carried {
        match self {
            Self::Client(connection, _) => &connection.carried,
            Self::Server(connection, _) => &connection.carried,
        }
    }

    pub(crate) fn carried_mut(&mut self) -> &mut Carried {
        match self {
            Self::Client(connection, _) => &mut connection.carried,
            Self::Server(connection, _) => &mut connection.carried,
        }
    }
}
