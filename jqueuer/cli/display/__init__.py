"""What the terminal shows while something goes on: pure functions from what is known to what is drawn."""
