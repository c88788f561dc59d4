"""Rendering of a table as text, SVG, an image or a window."""
