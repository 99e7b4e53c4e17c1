/* The kernel of fft.c, for OpenCL C, CUDA C++ and C (buffer_interface/kernel.h). */

struct fft_number {
	float re, im;
};

/*
 * One step of Stockham's algorithm with radix 2. Item x of each row takes two numbers that are half a row apart.
 * `roots` are the powers of exp(-2 pi i / length), and `run` is 1, 2, 4, ...
 */
BI_KERNEL(stage, (BI_IN(struct fft_number, from), BI_OUT(struct fft_number, to), BI_IN(struct fft_number, roots),
		  BI_VALUE(int, run)))
{
	bi_i64 i = BI_GLOBAL_ID(x), middle = BI_GLOBAL_SIZE(x), row = 2 * middle * BI_GLOBAL_ID(y);
	bi_i64 q = i % run, sum = row + 2 * (i - q) + q;
	struct fft_number a = BI_DATA(from)[row + i], b = BI_DATA(from)[row + i + middle], root = BI_DATA(roots)[i - q];
	float re = a.re - b.re, im = a.im - b.im;

	BI_DATA(to)[sum].re = a.re + b.re;
	BI_DATA(to)[sum].im = a.im + b.im;
	BI_DATA(to)[sum + run].re = re * root.re - im * root.im;
	BI_DATA(to)[sum + run].im = re * root.im + im * root.re;
}
