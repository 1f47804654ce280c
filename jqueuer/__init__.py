"""JQueuer: thousands of container jobs, finished before a deadline by as few containers as that takes."""

__version__ = "0.1.0"
