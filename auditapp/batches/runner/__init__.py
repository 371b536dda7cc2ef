"""What a worker does besides calling: notify queues, sweep, recover what a dead runner left, show that it is alive."""
