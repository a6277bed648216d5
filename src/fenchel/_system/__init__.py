"""What depends on the operating system: files, memory, and the threads of the BLAS."""
