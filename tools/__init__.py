"""What is needed to work on the project."""
