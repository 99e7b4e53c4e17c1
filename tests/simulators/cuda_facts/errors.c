/* Names of codes, the version, initialisation again, a forked child. */
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "facts.h"

/* A number that no driver has as a code: codes have at most three digits. */
enum { NO_CODE = 12345 };

static const char *name_of_success(struct objects *objects)
{
	const char *name = NULL;
	bi__cu_result result = cu->GetErrorName(BI__CU_SUCCESS, &name);

	(void)objects;
	return say("%s %s", code(result), name ? name : "NULL");
}

/* Older drivers have no name for ERROR_TENSOR_MEMORY_LEAK. They know all other codes. */
static const char *names_agree(struct objects *objects)
{
	const char *wrong = "yes";

	(void)objects;
#define COMPARE_NAME(name, number, status) \
	{ \
		const char *theirs = NULL; \
		int is_known = cu->GetErrorName(number, &theirs) == BI__CU_SUCCESS; \
		if (is_known ? !theirs || strcmp(theirs, "CUDA_" #name) != 0 \
			     : number != BI__CU_ERROR_TENSOR_MEMORY_LEAK) \
			wrong = "not " #name; \
	}
	BI__CU_CODES(COMPARE_NAME)
#undef COMPARE_NAME
	return wrong;
}

static const char *name_of_unknown(struct objects *objects)
{
	const char *name = "untouched";
	bi__cu_result result = cu->GetErrorName((bi__cu_result)NO_CODE, &name);

	(void)objects;
	return say("%s %s", code(result), name ? name : "NULL");
}

static const char *text_of_unknown(struct objects *objects)
{
	const char *text = "untouched";
	bi__cu_result result = cu->GetErrorString((bi__cu_result)NO_CODE, &text);

	(void)objects;
	return say("%s %s", code(result), text ? text : "NULL");
}

static const char *text_is_there(struct objects *objects)
{
	const char *text = NULL;
	bi__cu_result result = cu->GetErrorString(BI__CU_ERROR_OUT_OF_MEMORY, &text);

	(void)objects;
	return say("%s %s", code(result), yes_or_no(text && *text));
}

static const char *version_is_plausible(struct objects *objects)
{
	int version = 0;
	bi__cu_result result = cu->DriverGetVersion(&version);

	(void)objects;
	return say("%s %s", code(result), yes_or_no(version >= 11020 && version < 100000));
}

static const char *version_to_null(struct objects *objects)
{
	(void)objects;
	return code(cu->DriverGetVersion(NULL));
}

static const char *init_again(struct objects *objects)
{
	(void)objects;
	return code(cu->Init(0));
}

static const char *init_with_flags(struct objects *objects)
{
	(void)objects;
	return code(cu->Init(1));
}

/* Makes the call in a forked child, whose exit status is the code of the call. */
static const char *in_child(struct objects *objects, bi__cu_result (*call)(struct objects *objects))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		alarm(20);
		_exit(call(objects) & 0xff);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return "the child did not answer";
	return code((bi__cu_result)WEXITSTATUS(status));
}

static bi__cu_result call_count(struct objects *objects)
{
	int count;

	(void)objects;
	return cu->DeviceGetCount(&count);
}

static bi__cu_result call_init(struct objects *objects)
{
	(void)objects;
	return cu->Init(0);
}

static bi__cu_result call_query(struct objects *objects)
{
	return cu->StreamQuery(objects->stream);
}

static const char *child_counts(struct objects *objects)
{
	return in_child(objects, call_count);
}

static const char *child_initialises(struct objects *objects)
{
	return in_child(objects, call_init);
}

static const char *child_queries_stream(struct objects *objects)
{
	return in_child(objects, call_query);
}

const struct fact errors_facts[] = {
	FACT(name_of_success, documented), FACT(names_agree, documented),    FACT(name_of_unknown, documented),
	FACT(text_of_unknown, documented), FACT(text_is_there, documented),  FACT(version_is_plausible, documented),
	FACT(version_to_null, documented), FACT(init_again, assumed),        FACT(init_with_flags, documented),
	FACT(child_counts, assumed),       FACT(child_initialises, assumed), FACT(child_queries_stream, assumed),
	{ NULL, assumed, NULL },
};
