/* A forked child cannot use the driver. Its parent still can. */
#include <sys/wait.h>
#include <unistd.h>

#include "sim_tests.h"

/* Returns 0 if every call is refused. */
static int calls_in_child(const struct rig *rig)
{
	bi__cu_context context;
	bi__cu_pointer memory;
	int count;

	if (cu->DeviceGetCount(&count) != BI__CU_ERROR_NOT_INITIALIZED || cu->Init(0) != BI__CU_ERROR_NOT_INITIALIZED)
		return 1;
	if (cu->CtxGetCurrent(&context) != BI__CU_ERROR_NOT_INITIALIZED)
		return 2;
	if (cu->StreamSynchronize(rig->a) != BI__CU_ERROR_NOT_INITIALIZED)
		return 3;
	return cu->MemAlloc(&memory, 16) == BI__CU_ERROR_NOT_INITIALIZED ? 0 : 4;
}

static void test_fork(void **state)
{
	struct rig rig;
	int status;
	pid_t child;

	(void)state;
	begin(&rig, 0);
	must(cu->MemsetD8Async((uintptr_t)rig.pinned, 5, 1, rig.a));
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		alarm(20);
		_exit(calls_in_child(&rig));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	must(cu->StreamSynchronize(rig.a));
	assert_int_equal(rig.pinned[0], 5);
	end_without_reports(&rig);
}

const struct CMUnitTest fork_tests[] = {
	cmocka_unit_test(test_fork),
};
const size_t fork_test_count = COUNT_OF(fork_tests);
