package org.tilespark.spark.source;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Formats of files that users pass to another format's reader, by their first bytes. */
public enum KnownFormat {
  NPY("93 4E 55 4D 50 59", "a .npy file; format npy reads it"),
  GZIP("1F 8B", "compressed by gzip; of compressed files only .nii.gz is read (format nifti)"),
  ZIP("50 4B 03 04", "a zip file, such as .npz or a zipped Zarr store; unpack it"),
  HDF5("89 48 44 46 0D 0A 1A 0A", "an HDF5 file; h5py or xarray can write it as Zarr or .npy"),
  NETCDF("43 44 46", "a netCDF file; xarray can write it as Zarr"),
  TIFF("49 49 2A 00", "a TIFF file; tifffile or bioformats2raw can write it as Zarr"),
  TIFF_BIG_ENDIAN("4D 4D 00 2A", "a TIFF file; tifffile or bioformats2raw can write it as Zarr"),
  BIG_TIFF("49 49 2B 00", "a TIFF file; tifffile or bioformats2raw can write it as Zarr"),
  PARQUET("50 41 52 31", "a Parquet file; format parquet reads it"),
  PNG("89 50 4E 47", "a PNG image; Spark's format image reads it"),
  JPEG("FF D8 FF", "a JPEG image; Spark's format image reads it"),
  NRRD("4E 52 52 44", "an NRRD file; format raw reads the data after its header"),
  NIFTI("5C 01 00 00", "a NIfTI file; format nifti reads it"),
  NIFTI_BIG_ENDIAN("00 00 01 5C", "a NIfTI file; format nifti reads it"),
  JSON("7B", "JSON text; of Zarr, name the directory of the store");

  private final byte[] start;
  private final String what;

  KnownFormat(String start, String what) {
    String[] hex = start.split(" ");
    this.start = new byte[hex.length];
    for (int i = 0; i < hex.length; i++) {
      this.start[i] = (byte) Integer.parseInt(hex[i], 16);
    }
    this.what = what;
  }

  public boolean begins(byte[] head) {
    return head.length >= start.length
        && Arrays.equals(head, 0, start.length, start, 0, start.length);
  }

  /** A file's format for the end of a message: {@code "; it is a TIFF file; ..."}, or "". */
  public static String of(byte[] head) {
    Optional<KnownFormat> known =
        Arrays.stream(values()).filter(format -> format.begins(head)).findFirst();
    if (known.isPresent()) {
      return "; it is " + known.get().what;
    }
    boolean isHtml = new String(head, StandardCharsets.ISO_8859_1).stripLeading().startsWith("<");
    return isHtml ? "; it is XML or HTML text, perhaps an error page of a download" : "";
  }

  /** A directory's format for a message, or "". */
  public static String ofDirectory(FileSystem store, Path directory) throws IOException {
    for (String name : new String[] {"zarr.json", ".zarray", ".zgroup"}) {
      if (store.exists(new Path(directory, name))) {
        return ", a Zarr store, which format zarr reads";
      }
    }
    return "";
  }
}
