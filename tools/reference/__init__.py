"""Makes the reference pages of the documentation from what they describe."""
