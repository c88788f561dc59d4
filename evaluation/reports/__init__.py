"""Results as text, Markdown, HTML and charts."""
