"""One verb per file: joins the rooms."""
