"""A user's script in a child process: steps, operations, source lines, on the CPU and on the virtual GPU."""
