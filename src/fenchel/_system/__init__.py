"""What depends on the operating system: files, memory and threads."""
