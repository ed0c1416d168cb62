package org.tilespark.kernels.device;

import java.util.List;
import org.tilespark.kernels.fourier.FourierBoxes;
import org.tilespark.kernels.fourier.FourierBoxes.Direction;
import org.tilespark.kernels.fourier.FourierBoxes.Piece;
import org.tilespark.kernels.fourier.FourierBoxes.Transfer;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.pointwise.PointwiseProgram;

/**
 * What a device does in one pass over an array, besides permutations: boxes between planes and the
 * array, and steps that treat each element by itself. Complex arrays have the parts of a number
 * side by side here. Everything is queued on the caller's stream, in the caller's memory. Safe for
 * several threads.
 */
public final class DevicePasses {
  private final CudaDevice device;

  /** Passes on a device, which is borrowed. */
  public DevicePasses(CudaDevice device) {
    this.device = device;
  }

  /**
   * Queues moves of pieces between planes and an array.
   *
   * @param planes borrowed until it is done; piece offsets count from its beginning
   * @param array borrowed until it is done
   */
  public void move(
      Transfer transfer,
      List<Piece> pieces,
      DeviceBuffer planes,
      DeviceBuffer array,
      CudaStream stream) {
    device.enter();
    int width = transfer.type().bytes();
    boolean isComplex = transfer.isComplex();
    for (Piece piece : pieces) {
      planes.address(device, piece.re(), piece.count() * width);
      if (isComplex) {
        planes.address(device, piece.im(), piece.count() * width);
      }
      array.address(device, 0, piece.array().elements() * width * (isComplex ? 2 : 1));
    }
    long ofPlanes = planes.address(device, 0, 0);
    long ofArray = array.address(device, 0, 0);
    for (KernelLaunch launch : FourierBoxes.launches(transfer, pieces, device.ownKernels())) {
      boolean put = transfer.direction() == Direction.PUT;
      device.kernels().launch(launch, put ? ofPlanes : ofArray, put ? ofArray : ofPlanes, stream);
    }
  }

  /**
   * Queues a pass of steps that treat each element by itself.
   *
   * @param vectors the program's vectors in device memory; borrowed until it is done
   * @param vectorsOffset the first one's first byte, a multiple of 8
   * @param in borrowed until it is done
   * @param out borrowed until it is done; {@code in} only where what comes out is what went in
   */
  public void pointwise(
      PointwiseProgram program,
      DeviceBuffer vectors,
      long vectorsOffset,
      DeviceBuffer in,
      DeviceBuffer out,
      CudaStream stream) {
    if (in == out && program.end() != PointwiseProgram.End.SAME) {
      throw new IllegalArgumentException("In place: " + program.end());
    }
    device.enter();
    long width = program.type().bytes();
    long elements = program.shape().elements();
    device
        .kernels()
        .launch(
            program.launch(device.ownKernels()),
            new long[] {
              in.address(device, 0, elements * width * (program.isComplex() ? 2 : 1)),
              vectors.address(device, vectorsOffset, program.vectorElements() * Double.BYTES),
              out.address(device, 0, elements * width * (program.outputIsComplex() ? 2 : 1))
            },
            stream);
  }
}
