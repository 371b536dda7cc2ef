"""What a worker does besides making calls: notify queues, sweep, recover what a dead runner left, and show that it is alive."""
