"""The client of a home folder or database that this process opens itself: one module for each noun."""
