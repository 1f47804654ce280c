"""What a stack is made of, beside its images."""
