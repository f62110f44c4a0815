"""What only a service stores."""
