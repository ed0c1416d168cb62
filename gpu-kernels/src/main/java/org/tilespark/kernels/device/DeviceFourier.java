package org.tilespark.kernels.device;

import java.nio.file.Path;
import java.util.List;
import org.tilespark.kernels.device.library.LibCufft;
import org.tilespark.kernels.fourier.FourierPass;
import org.tilespark.kernels.fourier.FourierPlanner;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.PlanCache;

/**
 * Fourier transforms on a device, by cuFFT. Complex arrays are interleaved: the real part of a
 * number, then its imaginary part. All work is queued on the caller's stream and uses the caller's
 * memory. Safe for several threads.
 */
public final class DeviceFourier implements AutoCloseable {
  private static final int DECISIONS = 256;

  private final CudaDevice device;
  private final Cufft cufft;
  private final PlanCache<Asked, Transform> transforms = new PlanCache<>(DECISIONS);

  private record Asked(FourierProblem problem, long workLimit) {}

  /**
   * The passes that compute a problem, and the work area that they need.
   *
   * @param passes passes in their order; none if all transformed axes have extent 1
   * @param workBytes bytes of the largest work area that a pass needs
   */
  public record Transform(List<FourierPass> passes, long workBytes) {
    /** Copies the list. */
    public Transform {
      passes = List.copyOf(passes);
    }
  }

  private DeviceFourier(CudaDevice device, Cufft cufft) {
    this.device = device;
    this.cufft = cufft;
  }

  /**
   * Transforms on a device, which the caller closes, or why there are none: cuFFT is missing.
   *
   * @param device borrowed; must stay open longer than the transforms
   * @param libraryPath directories where to look when the system's loader does not know the library
   */
  public static Availability<DeviceFourier> find(CudaDevice device, List<Path> libraryPath) {
    return Cufft.open(device, libraryPath).map(cufft -> new DeviceFourier(device, cufft));
  }

  /**
   * The file of cuFFT on this machine, or why there is none, and what helps. Opens no device, but a
   * driver must be there, as {@link DeviceProbe} finds it.
   *
   * @param libraryPath as for {@link #find}
   */
  public static Availability<String> library(List<Path> libraryPath) {
    return LibCufft.load(libraryPath);
  }

  /** The version of cuFFT, such as 12.0.0. */
  public String version() {
    return cufft.version();
  }

  /**
   * The passes for a problem: the first way of {@link FourierPlanner} that cuFFT accepts and whose
   * work area is within the limit. If no way is within the limit, the passes of the way with the
   * smallest work area. Makes cuFFT's plans, which takes time at the first problem of a shape.
   *
   * @param problem the transform; a halved axis has an extent of 2 or more
   * @param workLimit the limit in bytes
   */
  public Transform plan(FourierProblem problem, long workLimit) {
    return transforms.get(new Asked(problem, workLimit), this::decide);
  }

  private Transform decide(Asked asked) {
    Transform least = null;
    CudaFailure refusal = null;
    for (int way = 0; way < FourierPlanner.WAYS; way++) {
      List<FourierPass> passes = FourierPlanner.passes(asked.problem(), way);
      long work = 0;
      try {
        for (FourierPass pass : passes) {
          work = Math.max(work, cufft.workBytes(pass));
        }
      } catch (CudaFailure e) {
        if (e.isSticky() || !e.call().equals(Cufft.MAKE_PLAN)) {
          throw e;
        }
        refusal =
            refusal == null
                ? e
                : refusal; // cuFFT cannot make this plan; the next way may be possible
        continue;
      }
      if (least == null || work < least.workBytes()) {
        least = new Transform(passes, work);
      }
      if (work <= asked.workLimit()) {
        break;
      }
    }
    if (least == null) {
      throw refusal;
    }
    return least;
  }

  /**
   * Queues a transform; returns before the transform is done.
   *
   * @param transform a result of {@link #plan}
   * @param in the input, borrowed until the transform is done; overwritten if the result is real
   * @param out the output, borrowed likewise; {@code in} if both sides are complex
   * @param work the work area of at least {@link Transform#workBytes()}, borrowed likewise
   */
  public void transform(
      Transform transform,
      DeviceBuffer in,
      DeviceBuffer out,
      DeviceBuffer work,
      CudaStream stream) {
    long from = in.address(device, 0, 0);
    long to = out.address(device, 0, 0);
    long area = work.address(device, 0, transform.workBytes());
    for (FourierPass pass : transform.passes()) {
      // Passes from complex to complex numbers work in place on the complex array.
      long source = pass.kind() == FourierProblem.Kind.FORWARD ? to : from;
      long target = pass.kind() == FourierProblem.Kind.INVERSE ? from : to;
      cufft.enqueue(pass, source, target, area, stream);
    }
  }

  /** Destroys cuFFT's plans; nothing may be queued any more. */
  @Override
  public void close() {
    cufft.close();
  }

  @Override
  public String toString() {
    return "Fourier transforms by cuFFT on " + device.description();
  }
}
