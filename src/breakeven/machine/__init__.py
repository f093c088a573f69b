"""Hosts, devices and links: records and the catalog."""
