/*
 * Faults that a random program injects: allocations of the library and calls of the driver that fail. One fault is
 * armed at a time, for one step.
 */
#ifndef BI_TESTS_FUZZ_FAULTS_H
#define BI_TESTS_FUZZ_FAULTS_H

enum fault {
	FAULT_NONE,
	FAULT_ALLOCATION, /* one allocation, or all from one on */
	FAULT_CALL, /* one call of the driver */
	FAULT_CALLS /* all calls of the driver from one on */
};

/* Finds the driver of the device, if its calls can be made to fail. Call it after the device was opened. */
void faults_open(const char *device);
/* `choice` and `n` come from the input. Returns the fault that is armed now; FAULT_CALLS only if `may_refuse`. */
enum fault faults_arm(unsigned choice, unsigned n, int may_refuse);
/*
 * Simulated CUDA: returns 1 if the call that was made to fail would have released an object, or is needed for that. The
 * driver then keeps the object.
 */
int faults_refused_release(void);
void faults_disarm(void);
/* No call of the driver fails any more. */
void faults_spare_driver(void);
/* Returns 1 if the status can be the result of the fault. */
int faults_explain(enum fault fault, int rc);

#endif
