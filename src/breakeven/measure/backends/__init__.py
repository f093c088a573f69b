"""One thin file per kind of device."""
