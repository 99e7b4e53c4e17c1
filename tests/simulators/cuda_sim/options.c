#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* Option, environment variable, type. */
#define VARIABLES(X) \
	X(seed, "CUDA_SIM_SEED", uint64_t) \
	X(devices, "CUDA_SIM_DEVICES", int) \
	X(version, "CUDA_SIM_VERSION", int) \
	X(pools, "CUDA_SIM_POOLS", int) \
	X(capability, "CUDA_SIM_CAPABILITY", int) \
	X(concurrent_managed, "CUDA_SIM_CONCURRENT_MANAGED", int) \
	X(peer, "CUDA_SIM_PEER", int) \
	X(eager, "CUDA_SIM_EAGER", int) \
	X(fail_call, "CUDA_SIM_FAIL", uint64_t) \
	X(drop_wait, "CUDA_SIM_DROP_WAIT", uint64_t) \
	X(prohibited, "CUDA_SIM_PROHIBITED", unsigned)

/* Takes the number at the start of the variable; returns what follows it, or NULL if the variable is not set. */
static const char *number(const char *variable, unsigned long long *value)
{
	const char *text = getenv(variable);
	char *rest;

	if (!text || !*text)
		return NULL;
	*value = strtoull(text, &rest, 10);
	if (rest == text || (*rest && *rest != ':')) {
		fprintf(stderr, "%s=%s is not a number\n", variable, text);
		abort();
	}
	return rest;
}

void options_from_environment(struct cuda_sim_options *options)
{
	static const struct cuda_sim_options usual = CUDA_SIM_OPTIONS_INIT;
	unsigned long long value;
	const char *rest;

	*options = usual;
#define READ(member, variable, type) \
	if (number(variable, &value)) \
		options->member = (type)value;
	VARIABLES(READ)
#undef READ
	rest = number("CUDA_SIM_FAIL", &value);
	if (rest && *rest == ':')
		options->fail_code = atoi(rest + 1);
}

static unsigned find_switch(const char *name, size_t length)
{
	static const char *const names[] = {
#define SWITCH_NAME(name, behaviour, source) #name,
		SIM_SWITCHES(SWITCH_NAME)
#undef SWITCH_NAME
	};

	if (length == 3 && !strncmp(name, "all", length))
		return (1u << SWITCH_COUNT) - 1;
	for (unsigned i = 0; i < SWITCH_COUNT; i++)
		if (strlen(names[i]) == length && !strncmp(name, names[i], length))
			return 1u << i;
	fprintf(stderr, "CUDA_SIM_SWITCHES: %.*s is no switch\n", (int)length, name);
	abort();
}

void switches_choose(const char *names)
{
	const char *at = names ? names : getenv("CUDA_SIM_SWITCHES");

	sim.switches = 0;
	while (at && *at) {
		size_t length = strcspn(at, ",");

		if (length)
			sim.switches |= find_switch(at, length);
		at += length + (at[length] == ',');
	}
}
