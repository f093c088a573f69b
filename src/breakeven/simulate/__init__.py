"""OpStream, costs and a machine to a Timeline."""
