/* Knows whether this process is a forked child of the one that opened a driver. */
#ifndef BI_COMMON_FORK_H
#define BI_COMMON_FORK_H

/* 0 in the process that loaded the library, one more in each generation of children made after the first watch. */
unsigned bi__fork_generation(void);

/* Starts to count. Called before a driver is opened; cheap when called again. */
void bi__fork_watch(void);

#endif
