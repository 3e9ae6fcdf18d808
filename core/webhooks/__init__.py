"""Webhooks: event types and payloads, the outbox, signatures, allowed addresses, and the queue of deliveries."""
