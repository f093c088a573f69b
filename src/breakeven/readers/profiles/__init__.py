"""Files of profilers: how they are opened, decoded and taken apart, and the formats themselves."""
