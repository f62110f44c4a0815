"""What the service does for machines that joined it: attempts that wait, what they need, and silence."""
