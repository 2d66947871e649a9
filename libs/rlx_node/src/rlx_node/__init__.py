"""The shell around an actor: data plane, HTTP and gRPC apps, heartbeat and reconcile."""
