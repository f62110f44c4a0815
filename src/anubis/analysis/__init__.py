"""Pure functions over values and series: statistics, comparison, change points. No I/O."""
