/* The kernels of the launch suite, for OpenCL C, CUDA C++ and C. */
struct pair {
	float low;
	int high;
};

#ifndef FACTOR
#define FACTOR 1
#endif

BI_KERNEL(scale, (BI_IN(float, from), BI_OUT(float, to), BI_VALUE(const float, factor)))
{
	bi_i64 i = BI_GLOBAL_ID(x);

	BI_DATA(to)[i] = factor * FACTOR * BI_DATA(from)[i];
}

/* The name is a function of OpenCL C. */
BI_KERNEL(step, (BI_IN(int, now), BI_OUT(int, next), BI_VALUE(bi_i64, by)))
{
	bi_i64 i = BI_GLOBAL_ID(x);

	BI_DATA(next)[i] = BI_DATA(now)[i] + (int)by;
}

/* The number of each item, in the order of the grid. */
BI_KERNEL(number, (BI_OUT(bi_i64, to)))
{
	bi_i64 z = BI_GLOBAL_ID(z), y = BI_GLOBAL_ID(y), x = BI_GLOBAL_ID(x);

	BI_DATA(to)[(z * BI_GLOBAL_SIZE(y) + y) * BI_GLOBAL_SIZE(x) + x] = z * 1000000 + y * 1000 + x;
}

BI_KERNEL(transpose, (BI_STRIDED_IN(int, 2, from), BI_STRIDED_OUT(int, 2, to)))
{
	bi_i64 y = BI_GLOBAL_ID(y), x = BI_GLOBAL_ID(x);

	BI_AT2(to, y, x) = BI_AT2(from, x, y);
}

BI_FUNCTION float sum_of(struct pair pair)
{
	return pair.low + (float)pair.high;
}

BI_KERNEL(add_pair, (BI_INOUT(float, data), BI_VALUE(const struct pair, pair)))
{
	BI_DATA(data)[BI_GLOBAL_ID(x)] += sum_of(pair);
}

/* A struct with more bytes than a group of some devices has items. */
struct table {
	int of[75];
};

BI_KERNEL(look_up, (BI_INOUT(int, data), BI_VALUE(struct table, table)))
{
	bi_i64 i = BI_GLOBAL_ID(x);

	BI_DATA(data)[i] = table.of[BI_DATA(data)[i]];
}

/* The sum of each group of 16 items. */
BI_GROUP_KERNEL(reduce, (BI_IN(int, from), BI_OUT(int, sums)))
{
	BI_LOCAL(int, part, 16);

	BI_ITEMS
	{
		part[BI_LOCAL_ID(x)] = BI_DATA(from)[BI_GLOBAL_ID(x)];
	}
	for (int width = 8; width > 0; width /= 2) {
		BI_BARRIER;
		BI_ITEMS
		{
			if (BI_LOCAL_ID(x) < width)
				part[BI_LOCAL_ID(x)] += part[BI_LOCAL_ID(x) + width];
		}
	}
	BI_ITEMS
	{
		if (BI_LOCAL_ID(x) == 0)
			BI_DATA(sums)[BI_GROUP_ID(x)] = part[0];
	}
}

/* Reverses each group, through local memory of the launch. A name may be one that kernel.h could use itself. */
BI_GROUP_KERNEL(reverse, (BI_INOUT(int, data), BI_LOCAL_PARAMETER(int, part), BI_LOCAL_PARAMETER(bi_i64, group)))
{
	BI_ITEMS
	{
		part[BI_LOCAL_ID(x)] = BI_DATA(data)[BI_GLOBAL_ID(x)];
		group[BI_LOCAL_ID(x)] = BI_GLOBAL_ID(x);
	}
	BI_BARRIER;
	BI_ITEMS
	{
		BI_DATA(data)[group[BI_LOCAL_ID(x)]] = part[BI_LOCAL_SIZE(x) - 1 - BI_LOCAL_ID(x)];
	}
}

/* One more than before, after many turns. */
BI_KERNEL(spin, (BI_IN(int, from), BI_OUT(int, to), BI_VALUE(int, turns)))
{
	bi_i64 i = BI_GLOBAL_ID(x);
	unsigned value = (unsigned)BI_DATA(from)[i] + 1u;

	for (int turn = 0; turn < turns; turn++)
		value = value * 1664525u + 1013904223u;
	for (int turn = 0; turn < turns; turn++)
		value = (value - 1013904223u) * 4276115653u;
	BI_DATA(to)[i] = (int)value;
}
