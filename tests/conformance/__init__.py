"""Our conventions beside the tools that they are named after, run for real where they are installed."""
