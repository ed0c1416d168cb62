package org.tilespark.kernels.device;

import java.util.List;
import org.tilespark.kernels.fourier.FourierBoxes;
import org.tilespark.kernels.fourier.FourierBoxes.Direction;
import org.tilespark.kernels.fourier.FourierBoxes.Piece;
import org.tilespark.kernels.fourier.FourierBoxes.Transfer;
import org.tilespark.kernels.launch.KernelLaunch;

/**
 * Copies boxes between planes and an array on a device, in one pass. Complex arrays are
 * interleaved: the real part of a number, then its imaginary part. All work is queued on the
 * caller's stream and uses the caller's memory. Safe for several threads.
 */
public final class DevicePasses {
  private final CudaDevice device;

  /** Runs passes on a device, which is borrowed. */
  public DevicePasses(CudaDevice device) {
    this.device = device;
  }

  /**
   * Queues moves of pieces between planes and an array.
   *
   * @param planes buffer of the planes, borrowed until the moves are done; piece offsets count from
   *     its beginning
   * @param array buffer that begins with the array, borrowed likewise
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
}
