"""Times the package imagecorruptions, in an environment of its own, for benchmarks/corruptions.py.

Reads one JSON object a line (name, severity, height, width, repeats, clock) and answers with the times in seconds and
the peak of the extra memory in bytes. The image is the file given as the argument, tiled and cropped.
"""

import json
import sys
import time

import cv2
import numba
import numpy as np
from imagecorruptions import corrupt
from measure import Peak, tiled

if __name__ == '__main__':
    cv2.setNumThreads(1)
    numba.set_num_threads(1)
    frame = np.load(sys.argv[1])
    for line in sys.stdin:
        job = json.loads(line)
        clock = getattr(time, job['clock'])
        image = tiled(frame, job['height'], job['width'])
        corrupt(image[:64, :64], severity=job['severity'], corruption_name=job['name'])  # compiles, reads textures
        times = []
        with Peak() as peak:
            for repeat in range(job['repeats']):
                np.random.seed(repeat)  # noqa: NPY002 (what the package draws from)
                start = clock()
                corrupt(image, severity=job['severity'], corruption_name=job['name'])
                times.append(clock() - start)
        print(json.dumps({'times': times, 'peak': peak.bytes}), flush=True)
