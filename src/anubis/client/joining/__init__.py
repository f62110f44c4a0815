"""A worker that joined a service: it takes attempts, measures them here and ships their records."""
