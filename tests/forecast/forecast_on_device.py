"""Forecasts of all models and what-ifs on a device, real or the double, against torch's own peaks, as tables for docs/forecasts.md.

    TENSORSCOPE_TEST_FAKE_CUDA=python3 python3 tests/forecast/forecast_on_device.py [--times 16] [--jobs 8] [--folder FOLDER] [NAME ...]

Batches are --times as large as those of forecast_accuracy.py, so that activations take more than what is the same at each size. NAME:
only these models, and what-ifs of them. Where convolutions run, the peaks without what cuDNN works in are compared, too: how much that is
only cuDNN knows. Exit status 1 where a forecast is off by more than 3 % and outside of its own range.
"""

import argparse
import concurrent.futures
import sys
import tempfile

import forecast_accuracy as accuracy

WITHIN = 0.03


def sized(model, size, times):
    """Options that are the same in all runs, and how often the sizes of forecast_accuracy.py are taken."""
    return ((), times) if size == "batch" else (("--batch", str(2 * times)), 1)


def plans(times, only):
    """Title, model, the size's name, values seen and wanted, options of all runs, of the measured one, of the forecast."""
    for model in accuracy.MODELS:
        size, least = accuracy.MODELS[model] or ("batch", 2)
        same, factor = sized(model, size, times)
        value = 8 * least * factor
        if not only or model in only:
            yield model, model, size, (value // 8, value // 4), value, same, (), ()
    for title, (model, options, changed, asked) in accuracy.WHAT_IF.items():
        size = options[0].strip("-")
        same, factor = sized(model, size, times)
        value = int(options[1]) * factor
        if not only or model in only:
            yield title, model, size, (value // 4, value // 2), value, same, changed, asked


class Runs:
    """Each run is made once, some side by side."""
    def __init__(self, folder, jobs):
        self.folder, self.pool, self.made = folder, concurrent.futures.ThreadPoolExecutor(jobs), {}

    def of(self, model, *options):
        key = (model, *options)
        if key not in self.made:
            self.made[key] = self.pool.submit(accuracy.record_device, self.folder, *key)
        return self.made[key]


def begun(runs, plan):
    """The runs that are seen, and the measured one."""
    _, model, size, seen, wanted, same, changed, _ = plan
    return [runs.of(model, f"--{size}", str(value), *same) for value in seen], runs.of(model, f"--{size}", str(wanted), *same, *changed)


def row(plan, seen, measured):
    title, _, size, values, wanted, _, _, asked = plan
    inputs = [run.result()[0] for run in seen]
    found = accuracy.forecast(inputs, {size: wanted}, "--vary", f"{size}={','.join(map(str, values))}", *asked)
    of, (recording, says) = found["what_if"][-1] if asked else found["forecast"], measured.result()
    if of["without_cudnn_bytes"] is not None and not asked:
        # The measured run as an input: what it had without it.
        told = accuracy.forecast([inputs[-1], recording], {size: wanted}, "--vary", f"{size}={values[-1]},{wanted}")
        says = says | {"without_cudnn": told["forecast"]["without_cudnn_bytes"]}
    return f"{title}, {size} {wanted}", of, says


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("only", nargs="*")
    parser.add_argument("--folder")
    parser.add_argument("--times", type=int, default=16)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    folder = options.folder or tempfile.mkdtemp(prefix="forecasts")
    missed = 0
    cells = accuracy.CELLS
    accuracy.head("on a device", *cells, *(f"without cuDNN's: {cell}" for cell in cells), *(f"reserved: {cell}" for cell in cells))
    runs = Runs(folder, options.jobs)
    for plan, (seen, measured) in [(plan, begun(runs, plan)) for plan in plans(options.times, options.only)]:
        try:
            title, of, says = row(plan, seen, measured)
        except AssertionError as error:
            missed += 1
            print(f"{plan[0]} failed: {str(error).strip()[-600:]}", flush=True)
            continue
        judged = "without_cudnn" if "without_cudnn" in says else "allocated"
        row_cells = [title]
        for what, name in (("", "allocated"), ("without_cudnn_", "without_cudnn"), ("reserved_", "reserved")):
            forecast = of.get(f"{what or 'peak_'}bytes")
            if forecast is None or name not in says:
                row_cells += ["", "", accuracy.mib(says[name]) if name in says else "", "", ""]
                continue
            far = abs(forecast - says[name]) > WITHIN * says[name]
            missed += name == judged and far and not accuracy.within(of, says[name], what)
            row_cells += accuracy.cells(of, says[name], what)
        accuracy.line(*row_cells)
    print(f"{missed} missed", file=sys.stderr)
    return missed != 0


if __name__ == "__main__":
    sys.exit(main())
