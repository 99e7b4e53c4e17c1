/* The memory of a device is exhausted, and there is some again. Returns 0 if all went as the header says. */
int check_exhausted_memory(const char *device);
